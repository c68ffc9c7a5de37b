import type { Call, Turn } from '../conversation.ts';
import { earlierTurns, outcomeOf, waitingCalls } from '../results.ts';
import { type Reply, type Rule, type RuleContext, toolOf } from '../rule.ts';
import { TEXTS } from '../texts/index.ts';
import { personName, personNameJa } from '../understand/names.ts';
import { coreOf, withoutClosing, withoutOpening } from '../understand/text.ts';

const DECISION =
  /^(?:yes|yeah|yep|ok|okay|sure|i )?,?\s*(?:approve|approved|accept|confirm|confirmed|allow|go ahead|do it|deny|denied|reject|decline|refuse|yes|no|ok|okay)(?: (?:it|that|the payment|please))?$|^(?:はい、?|いいえ、?)?(?:承認|許可|拒否|却下|確認)(?:します|して(?:ください)?|する|です)?$|^(?:はい|いいえ)$/i;

const NO = /\b(?:no|deny|denied|reject|decline|refuse)\b|いいえ|拒否|却下/i;

/** Answers a user who types "yes" or "no" instead of using the approval card: only the card can approve or deny a call. */
export const approval: Rule = {
  name: 'approval',
  match({ text, language, conversation }) {
    const isWaiting = waitingCalls(conversation).length > 0;
    // Where a new message cancels open approval requests, a typed "yes" has just cancelled the call that the user wanted to approve.
    const isLost = conversation.fresh.some((call) => outcomeOf(call).kind === 'cancelled') && !NO.test(text);
    if (!isWaiting && !isLost) return null;
    if (!DECISION.test(coreOf(text)) && !DECISION.test(text.replace(/[.!。]+$/, ''))) return null;
    const { lost, open } = TEXTS[language].approval;
    return isWaiting ? open : lost;
  },
};

const PAST_EN =
  /^(?:what (?:did|have) i (?:just )?(?:ask|asked|say|said|want|wanted|write|written)(?: you)?(?: for| about)?(?: before| earlier| last| just now| previously)?|what was my (?:last|previous) (?:question|request|message)|(?:repeat|do you remember) (?:my (?:last|previous) (?:question|request)|what i (?:asked|said)(?: before)?))$/i;
const PAST_JA =
  /^(?:さっき|先ほど|前に|以前|直前に)?(?:は|、)?(?:私(?:は|が)?)?(?:何|なに|なん)(?:を|て|と)?(?:聞い|聞きま|頼ん|頼みま|質問し|言っ|お願いし)(?:た|だ|した|ました)(?:っけ|の|か|のか)?$|^(?:前|さっき|先ほど|直前)の(?:質問|依頼|メッセージ)(?:は|を)?(?:何|なに|なん)?(?:です)?(?:か|だっけ|でしたか)?(?:教えて(?:ください)?)?$/;

/** Answers the user's question about what they wrote earlier in this conversation. */
export const past: Rule = {
  name: 'past',
  match(context) {
    const core = coreOf(context.text);
    return PAST_EN.test(core) || PAST_JA.test(core) ? lastRequest(context) : null;
  },
};

function lastRequest({ language, conversation }: RuleContext): Reply {
  const before = earlierTurns(conversation).findLast((turn) => turn.text !== '')?.text;
  const texts = TEXTS[language].past;
  return { thought: texts.thought, text: before === undefined ? texts.first : texts.before(before) };
}

const AGAIN_EN =
  /^(?:(?:try|do|send|run|ask|pay|retry)(?: (?:it|that|this|the payment|the same))?(?: once more| one more time| again)|retry(?: (?:it|that|please))?|again|once more|one more time|repeat(?: (?:it|that))?)$/i;
const AGAIN_JA =
  /^(?:もう一度|もう一回|再度|再び|もういちど)(?:やって|試して|して|お願い(?:します)?|実行して|送金して|送って)?(?:ください|下さい|みて)?$|^(?:再試行|リトライ|やり直し)(?:て|して)?(?:ください|下さい)?$/;

/** Repeats the last tool calls when the user writes "again" or "retry". */
export const retry: Rule = {
  name: 'retry',
  match(context) {
    const { text, language, conversation, can } = context;
    const core = coreOf(text);
    if (!AGAIN_EN.test(core) && !AGAIN_JA.test(core)) return null;
    const last = earlierTurns(conversation).findLast((turn) => turn.calls.length > 0);
    const calls = (last?.calls ?? []).filter((call) => can(call.name));
    const again = (call: Call) => toolOf(context.rules, call.name)?.again;
    if (calls.length === 0) return TEXTS[language].again.nothing;
    const doubtful = calls.find((call) => again(call) !== undefined && !isSurelyUndone(call));
    const instead = doubtful && again(doubtful);
    if (instead) return instead(context);
    return {
      thought: TEXTS[language].again.thought,
      calls: calls.map(({ name, args }) => ({ name, args })),
    };
  },
};

/** Whether a call certainly had no effect. A call of a tool with `again` is repeated only then. */
function isSurelyUndone(call: Call): boolean {
  return !['done', 'unknown', 'silent', 'pending', 'result-timeout'].includes(outcomeOf(call).kind);
}

const TOLD_EN = /^(?:my name is|my name'?s|call me|you can call me|i am called|the name'?s) (?<name>.+)$/i;
const TOLD_I_AM = /^(?:[Ii]'?m|[Ii] am|[Tt]his is) (?<name>\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)?)$/u;
const TOLD_JA =
  /^(?:私|わたし|僕|ぼく|俺)?(?:の名前|名前)?は?、?(?<name>.+?)(?:と申します|といいます|と言います|って言います|と呼んで(?:ください)?|って呼んで(?:ください)?)$|^(?:私|わたし|僕|ぼく|俺)の名前は(?<plain>.+?)(?:です|だ|だよ)?$/;
const ASKED_EN = /^(?:what'?s|what is|whats|do you (?:know|remember)|tell me|say) my name$|^who am i$/i;
const ASKED_JA =
  /^(?:私|わたし|僕|ぼく|俺)(?:の名前)?(?:は|を|って)(?:何|なん|なに|誰|だれ|覚えて(?:い)?(?:る|ます)|(?:分|わ)かり?(?:る|ます)|教えて|言って)(?:です)?(?:か)?(?:ください)?$|^(?:私|わたし|僕|ぼく|俺)の名前は$|^名前(?:を)?覚えて(?:い)?(?:る|ます)(?:か)?$/;

/** Acknowledges the user's name when the user gives it, and repeats the name when the user asks for it later. */
export const name: Rule = {
  name: 'name',
  match({ text, language, conversation }) {
    const told = nameIn(text);
    const texts = TEXTS[language].name;
    if (told !== undefined) return texts.told(told);
    // `withoutOpening` removes 私は ("I") as a polite opening, so the question is also searched for in the whole sentence.
    const forms = [withoutClosing(withoutOpening(text)), withoutClosing(text)];
    if (!forms.some((form) => ASKED_EN.test(form) || ASKED_JA.test(form))) return null;
    const known = knownName(conversation.turns);
    return { thought: texts.thought, text: known === undefined ? texts.unknown : texts.known(known) };
  },
};

/** The name that the user gave last. */
export function knownName(turns: readonly Turn[]): string | undefined {
  return turns.map((turn) => nameIn(turn.text)).findLast((told) => told !== undefined);
}

const NOT_SAID_OF_NAMES =
  /^(?:I|Sorry|Tired|Fine|Good|Happy|Sad|Back|Here|Ready|Done|Not|Hungry|Sure|Afraid|In|At|Great|Great!|Bored|Ill|Sick)$/;

function nameIn(text: string): string | undefined {
  const core = withoutClosing(withoutOpening(text));
  const english = (TOLD_EN.exec(core) ?? TOLD_I_AM.exec(core))?.groups?.name;
  if (english !== undefined) return NOT_SAID_OF_NAMES.test(english) ? undefined : personName(english);
  const groups = (TOLD_JA.exec(withoutClosing(text)) ?? TOLD_JA.exec(core))?.groups;
  const japanese = groups?.name ?? groups?.plain;
  return japanese === undefined || /何|なん|なに|誰|だれ/.test(japanese)
    ? undefined
    : personNameJa(japanese.replace(/^(?:私|僕|俺)は/, ''));
}
