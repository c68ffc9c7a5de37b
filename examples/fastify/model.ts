import type { BaseLlm } from '@google/adk';
import { EmbeddedModel, type Rule, troubleText } from 'duologue/models/embedded';

/** A rule for sentences of one form, which calls one tool and then says its result. */
function rule(
  name: string,
  example: string,
  form: RegExp,
  argsOf: (words: Record<string, string>) => Record<string, unknown>,
  done: (args: Record<string, unknown>, output: Record<string, unknown>) => string,
): Rule {
  const subject = name.replace('_', ' ');
  return {
    name,
    match({ text }) {
      const found = form.exec(text);
      return found && { thought: `This needs ${name}.`, calls: [{ name, args: argsOf(found.groups ?? {}) }] };
    },
    tool: {
      name,
      report: (settled, { language }) =>
        settled
          .map(({ call, outcome }) =>
            outcome.kind === 'done'
              ? done(call.args, outcome.value)
              : troubleText(language, { en: subject, ja: subject }, outcome),
          )
          .join(' '),
    },
    ability: { example: { en: example, ja: example } },
  };
}

const rules = [
  rule(
    'flower_prices',
    '“What do flowers cost?”',
    /^what do flowers cost/i,
    () => ({}),
    (_args, prices) =>
      `Today: ${Object.entries(prices)
        .map(([flower, price]) => `${flower} $${price}`)
        .join(', ')}.`,
  ),
  rule(
    'send_flowers',
    '“Send tulips to Ann”',
    /^send (?<flowers>\w+) to (?<to>\w+)/i,
    ({ flowers, to }) => ({ flowers, to }),
    ({ flowers, to }) => `The ${flowers} are on their way to ${to}.`,
  ),
  rule(
    'paint_page',
    '“Paint the page khaki”',
    /^paint the page (?<colour>\w+)/i,
    ({ colour }) => ({ colour }),
    ({ colour }) => `The page is ${colour} now.`,
  ),
];

/** Gemini where a key is set, else a model made of rules, which needs no key and no network. */
export function chooseModel(env: NodeJS.ProcessEnv): string | BaseLlm {
  return env.GEMINI_API_KEY ? (env.MODEL ?? 'gemini-3.8-flash') : new EmbeddedModel({ rules });
}
