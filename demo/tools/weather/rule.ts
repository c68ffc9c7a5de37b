import {
  earlierTurns,
  type Language,
  listOf,
  previousTurn,
  type Reply,
  type Rule,
  type RuleContext,
  type Settled,
  type Turn,
  troubleText,
} from 'duologue/models/embedded';
import { cityForLookup, cityInJapanese } from './cities.ts';
import { cityAlone, isAboutAnotherTime, understandWeather } from './questions.ts';
import { MODEL, REASONS_JA } from './texts/index.ts';

const TOOL = 'get_weather';

/** The rule for questions about the weather of one or more cities, also for short ones after another, such as "and in Paris?". */
export const weather: Rule = {
  name: 'weather',
  match(context) {
    const asked = understandWeather(context.text);
    const previous = previousTurn(context.conversation);
    if (asked === null) {
      const isTopic = previous !== undefined && isAboutWeather(previous);
      const cities = isTopic ? cityAlone(context.text, previous.calls.length === 0) : null;
      return cities === null ? null : lookUp(cities, context);
    }
    return lookUp(
      asked.cities.length > 0 ? asked.cities : lastCities(earlierTurns(context.conversation)),
      context,
    );
  },
  tool: { name: TOOL, report },
  ability: {
    does: { en: MODEL.en.does, ja: MODEL.ja.does },
    example: { en: MODEL.en.example, ja: MODEL.ja.example },
  },
};

function isAboutWeather(turn: Turn): boolean {
  if (turn.calls.length > 0) return turn.calls.some((call) => call.name === TOOL);
  return /[?？]/.test(turn.spoken) && understandWeather(turn.text)?.cities.length === 0;
}

function lastCities(turns: readonly Turn[]): string[] {
  const last = turns.flatMap((turn) => turn.calls).findLast((call) => call.name === TOOL);
  return typeof last?.args.location === 'string' ? [last.args.location] : [];
}

function lookUp(cities: readonly string[], context: RuleContext): Reply {
  const { language } = context;
  const texts = MODEL[language];
  if (!context.can(TOOL)) return texts.noTool;
  if (cities.length === 0) return { ...texts.noCity, asks: true };
  const names = cities.map((city) => nameOf(city, language));
  return {
    thought: texts.asked(listOf(language, names)),
    calls: cities.map((city) => ({ name: TOOL, args: { location: cityForLookup(city) } })),
  };
}

function nameOf(city: string, language: Language): string {
  return language === 'ja' ? cityInJapanese(city) : cityForLookup(city);
}

function report(settled: readonly Settled[], { language, conversation }: RuleContext): string {
  const question =
    conversation.turns.findLast((turn) => turn.calls.some((call) => call.name === TOOL))?.text ?? '';
  const sentences = settled.map((one) => weatherText(one, language));
  const values = settled.flatMap(({ outcome }) => (outcome.kind === 'done' ? [outcome.value] : []));
  if (
    values.some(
      (value) => value.sample === true || (typeof value.note === 'string' && /sample|mock/i.test(value.note)),
    )
  ) {
    sentences.push(MODEL[language].sample);
  }
  if (values.length > 0 && isAboutAnotherTime(question)) {
    sentences.push(MODEL[language].onlyNow);
  }
  return sentences.join(language === 'ja' ? '' : ' ');
}

function weatherText({ call, outcome }: Settled, language: Language): string {
  const texts = MODEL[language];
  const city = typeof call.args.location === 'string' ? call.args.location : '';
  const subject = { en: MODEL.en.subject(city), ja: MODEL.ja.subject(cityInJapanese(city)) };
  if (outcome.kind !== 'done') return troubleText(language, subject, outcome, REASONS_JA) ?? '';
  const {
    condition,
    description,
    temperature,
    feels_like: feelsLike,
    humidity,
    wind_speed: wind,
  } = outcome.value;
  const words = typeof description === 'string' && description !== '' ? description : condition;
  const has = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
  const facts = [
    ...(typeof words === 'string' && !/^unknown$/i.test(words) ? [texts.sky(words)] : []),
    ...(has(temperature) ? [texts.temperature(temperature, has(feelsLike) ? feelsLike : undefined)] : []),
    ...(has(humidity) ? [texts.humidity(humidity)] : []),
    ...(has(wind) ? [texts.wind(wind)] : []),
  ];
  return facts.length === 0
    ? (troubleText(language, subject, { kind: 'silent' }) ?? '')
    : texts.weather(language === 'ja' ? cityInJapanese(city) : city, facts);
}
