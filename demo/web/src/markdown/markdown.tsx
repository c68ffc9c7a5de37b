import { useRef } from 'react';
import { Blocks } from './block.tsx';
import { GrowingBlocks } from './blocks.ts';
import { HighestHeading, highestHeading } from './highest-heading.ts';

/** Shows Markdown that may still be growing. */
export default function Markdown({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  const growing = useRef<GrowingBlocks | null>(null);
  growing.current ??= new GrowingBlocks();
  const tokens = growing.current.push(text);
  return (
    <HighestHeading value={highestHeading(tokens)}>
      <Blocks tokens={tokens} isGrowing={isGrowing} dir="auto" />
    </HighestHeading>
  );
}
