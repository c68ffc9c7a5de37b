import { exhaustive } from '../../protocol/exhaustive.ts';
import { unknownReply } from './abilities.ts';
import type { Call, Turn } from './conversation.ts';
import { outcomeOf, type Settled, troubleText, waitingCalls } from './results.ts';
import { type Reply, type Rule, type RuleContext, toolOf } from './rule.ts';
import { TEXTS } from './texts/index.ts';
import { isNegated } from './understand/language.ts';
import { sentencesOf } from './understand/text.ts';

/** Returns the model's next answer: a report of results of tool calls, or the answer of the first rule that understands the message. */
export async function think(rules: readonly Rule[], context: RuleContext): Promise<Partial<Reply>> {
  const { conversation, language } = context;
  switch (conversation.asked) {
    case 'results':
      return { text: reportOn(rules, conversation.fresh, context) };
    case 'continuation': {
      if (conversation.fresh.length > 0) return { text: reportOn(rules, conversation.fresh, context) };
      const unspoken = conversation.turns.flatMap((turn, index) =>
        unspokenOf(rules, turn, conversation.turns.slice(index), context),
      );
      return unspoken.length > 0
        ? { text: reportOn(rules, unspoken, context) }
        : { text: TEXTS[language].results.anythingElse };
    }
    case 'answer': {
      const news = conversation.fresh.filter((call) => outcomeOf(call).kind !== 'pending');
      const reply = await answer(rules, context);
      const before = news.length > 0 ? reportOn(rules, news, context) : '';
      const after = reply.calls === undefined ? stillWaiting(rules, context) : '';
      const text = [before, reply.text ?? '', after].filter((part) => part !== '').join('\n\n');
      return { ...reply, ...(text === '' ? {} : { text }) };
    }
    default:
      return exhaustive(conversation.asked);
  }
}

async function answer(rules: readonly Rule[], context: RuleContext): Promise<Reply> {
  if (context.conversation.turns.at(-1)?.excerpt !== undefined) return unknownReply(context);
  const whole = await firstMatch(rules, context);
  if (whole !== null && whole.isUnsure !== true) return whole;
  return (await answerSentences(rules, context)) ?? whole ?? unknownReply(context);
}

async function firstMatch(rules: readonly Rule[], context: RuleContext): Promise<Reply | null> {
  for (const rule of rules) {
    const reply = await rule.match(context);
    if (reply !== null) return reply;
  }
  return null;
}

/** Answers a message of two to eight sentences by applying the rules to each sentence. Null when that gives no answer. */
async function answerSentences(rules: readonly Rule[], context: RuleContext): Promise<Reply | null> {
  const sentences = sentencesOf(context.text);
  if (sentences.length < 2 || sentences.length > 8) return null;
  const replies: (Reply | null)[] = [];
  for (const text of sentences) replies.push(await firstMatch(rules, { ...context, text }));
  const understood = replies.filter((reply) => reply !== null).filter((reply) => reply.isUnsure !== true);
  const calls = understood.flatMap((reply) => reply.calls ?? []);
  // A tool with `again` must not run by mistake. It is called only when every sentence was understood and none is negated: a negated sentence, or one that
  // was not understood, may revoke the request.
  const isDoubtful = understood.length < replies.length || sentences.some((sentence) => isNegated(sentence));
  if (isDoubtful && calls.some((call) => toolOf(rules, call.name)?.again !== undefined)) return null;
  const [first] = understood;
  if (first === undefined) return null;
  if (calls.length > 0) {
    const makers = understood.filter((reply) => reply.calls !== undefined);
    const questions = understood.filter((reply) => reply.asks === true).map((reply) => reply.text ?? '');
    return {
      thought: makers.map((reply) => reply.thought).join(context.language === 'ja' ? '' : ' '),
      calls,
      ...(questions.length === 0 ? {} : { text: questions.join('\n\n') }),
    };
  }
  return understood.length === replies.length || understood.length === 1
    ? { thought: first.thought, text: understood.map((reply) => reply.text ?? '').join('\n\n') }
    : null;
}

/** Reports the outcomes of calls. The rule of each tool supplies the text. */
function reportOn(rules: readonly Rule[], calls: readonly Call[], context: RuleContext): string {
  const settled = calls.map((call) => ({ call, outcome: outcomeOf(call) }));
  const names = [...new Set(settled.map(({ call }) => call.name))];
  const texts = names.map((name) => {
    const own = settled.filter(({ call }) => call.name === name);
    return toolOf(rules, name)?.report(own, context) ?? own.map((one) => plainReport(one, context)).join(' ');
  });
  const text = texts.join(context.language === 'ja' ? '' : ' ').trim();
  return text === '' ? TEXTS[context.language].results.none : text;
}

function plainReport({ call, outcome }: Settled, { language }: RuleContext): string {
  const { en, ja } = TEXTS;
  const subject = { en: en.results.subject(call.name), ja: ja.results.subject(call.name) };
  return troubleText(language, subject, outcome) ?? TEXTS[language].results.done(call.name);
}

function stillWaiting(rules: readonly Rule[], context: RuleContext): string {
  const waiting = waitingCalls(context.conversation);
  if (waiting.length === 0) return '';
  return `(${reportOn(
    rules,
    waiting.map(({ call }) => call),
    context,
  )})`;
}

/** The answered calls of a turn whose outcomes the model has reported neither in that turn nor in a later one. */
function unspokenOf(
  rules: readonly Rule[],
  turn: Turn,
  since: readonly Turn[],
  context: RuleContext,
): Call[] {
  if (turn.closing !== '') return [];
  const settled = turn.calls.filter(
    (call) => call.response !== undefined && outcomeOf(call).kind !== 'pending',
  );
  return settled.filter((call) => {
    const told = reportOn(rules, [call], context);
    return !since.some((later) => later.spoken.includes(told));
  });
}
