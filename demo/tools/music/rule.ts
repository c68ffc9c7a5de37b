import {
  callsOf,
  outcomeOf,
  type Rule,
  type RuleContext,
  type Settled,
  troubleText,
} from 'duologue/models/embedded';
import { MODEL } from './texts/index.ts';
import { understandMusic } from './wishes.ts';

const TOOL = 'change_bgm';

/** The rule for requests about the background music: a track by its number, or the other track. */
export const music: Rule = {
  name: 'music',
  match(context) {
    const { language } = context;
    const wish = understandMusic(context.text);
    if (wish === null) return null;
    const texts = MODEL[language];
    if (!context.can(TOOL)) return texts.noTool;
    const track = wish.kind === 'track' ? wish.track : otherTrack(context);
    if (wish.kind === 'unable' || (track !== 1 && track !== 2)) return texts.unable;
    return { thought: texts.wanted(track), calls: [{ name: TOOL, args: { track } }] };
  },
  tool: { name: TOOL, report },
  ability: {
    does: { en: MODEL.en.does, ja: MODEL.ja.does },
    example: { en: MODEL.en.example, ja: MODEL.ja.example },
  },
};

/** The track that is not playing. The current track is that of the last successful call, or track 1 before any call. */
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
      const reported = outcome.kind === 'done' ? outcome.value.track : undefined;
      const shown = String([reported, call.args.track].find((one) => typeof one === 'number') ?? '?');
      const subject = { en: MODEL.en.subject(shown), ja: MODEL.ja.subject(shown) };
      return troubleText(language, subject, outcome) ?? MODEL[language].changed(shown);
    })
    .join(language === 'ja' ? '' : ' ');
}
