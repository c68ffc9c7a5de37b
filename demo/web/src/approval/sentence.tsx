import type { Question } from './question.ts';

/** The sentence of a card, with its values in bold. */
export function Sentence({
  question: { template, values },
}: {
  question: Pick<Question, 'template' | 'values'>;
}) {
  return template.split(/(\{\w+\})/).map((piece, index) => {
    const name = /^\{(\w+)\}$/.exec(piece)?.[1];
    const value = name === undefined ? undefined : values[name];
    if (value === undefined) return piece;
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a sentence have no identity but their place
      <strong key={index} className="font-semibold break-words text-ink">
        <bdi>{value}</bdi>
      </strong>
    );
  });
}
