import {
  callsOf,
  outcomeOf,
  type Rule,
  type RuleContext,
  type Settled,
  say,
  troubleText,
} from 'duologue/models/embedded';
import { understandMusic } from './wishes.ts';

const TOOL = 'change_bgm';

/** The background music: track 1 or 2, or the other one. */
export const music: Rule = {
  name: 'music',
  match(context) {
    const { language } = context;
    const wish = understandMusic(context.text);
    if (wish === null) return null;
    if (!context.can(TOOL)) {
      return {
        thought: say(
          language,
          'The music, but there is no tool for it here.',
          '音楽の依頼ですが、ここでは変更できません。',
        ),
        text: say(
          language,
          'I cannot change the music here: this agent has no music tool.',
          'ここでは音楽を変更できません。このエージェントには音楽の機能がありません。',
        ),
      };
    }
    const track = wish.kind === 'track' ? wish.track : otherTrack(context);
    if (wish.kind === 'unable' || (track !== 1 && track !== 2)) {
      return {
        thought: say(
          language,
          'Something about the music that I cannot do.',
          '音楽についての、できない依頼です。',
        ),
        text: say(
          language,
          'I can only switch the background music between track 1 and track 2. To stop it or change its volume, press the note (♪) at the top of the page.',
          '背景音楽はトラック1とトラック2の切り替えだけができます。止めたり音量を変えたりするには、ページ上部の音符（♪）を押してください。',
        ),
      };
    }
    return {
      thought: say(
        language,
        `The person wants to hear track ${track}.`,
        `背景音楽をトラック${track}に変更します。`,
      ),
      calls: [{ name: TOOL, args: { track } }],
    };
  },
  tool: { name: TOOL, report },
  ability: {
    does: { en: 'change the music', ja: '音楽の変更' },
    example: { en: 'the music: “Play track 2”', ja: '音楽：「トラック2に変更して」' },
  },
};

/** The music starts with track 1; what plays now is the last track that was really changed to. */
function otherTrack({ conversation }: RuleContext): number {
  const playing = callsOf(conversation.turns, TOOL)
    .filter((call) => outcomeOf(call).kind === 'done')
    .map((call) => call.args.track)
    .at(-1);
  return playing === 2 ? 1 : 2;
}

function report(settled: readonly Settled[], { language }: RuleContext): string {
  return settled
    .map(({ call, outcome }) => {
      const told = outcome.kind === 'done' ? outcome.value.track : undefined;
      const shown = [told, call.args.track].find((one) => typeof one === 'number') ?? '?';
      const subject = { en: `the change to track ${shown}`, ja: `トラック${shown}への変更` };
      return (
        troubleText(language, subject, outcome) ??
        say(
          language,
          `I changed the background music to track ${shown}.`,
          `背景音楽をトラック${shown}に変更しました。`,
        )
      );
    })
    .join(language === 'ja' ? '' : ' ');
}
