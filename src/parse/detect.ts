import type { ApiDescription, Shape } from './api.ts';
import { APIS, type Api } from './apis/index.ts';
import { emptyFold } from './fold.ts';
import { isObject, type Obj, tryJson } from './json.ts';

/** What a value is. */
export interface Match {
  /** How its API is read. */
  description: ApiDescription;
  api: Api;
  as: Shape;
}

/** The fields of a description. */
const FIELDS = {
  api: '',
  recognise: undefined,
  streaming: undefined,
  familyOf: undefined,
  claimsError: undefined,
  asSent: undefined,
  choicesIn: undefined,
  promisesDone: undefined,
  readOwn: undefined,
  finish: undefined,
};

/** The descriptions with the same fields in the same order, which makes them faster to ask. */
const DESCRIPTIONS = /* @__PURE__ */ APIS.map((api) => ({
  ...FIELDS,
  ...api,
})) as readonly ApiDescription<Api>[];

/**
 * The descriptions that are asked first have a place in the code each: a call that always goes to the same function is several
 * times as fast as one in a loop, and nearly every value is of one of these.
 */
const [first, second, third, fourth, fifth, ...others] = DESCRIPTIONS as readonly [
  ApiDescription<Api>,
  ApiDescription<Api>,
  ApiDescription<Api>,
  ApiDescription<Api>,
  ApiDescription<Api>,
  ...ApiDescription<Api>[],
];

/** Finds the API of a value by its shape alone; the first that fits has it. */
export function recognise(value: Obj): Match | null {
  const { object } = value;
  let as = first.recognise(value, object);
  if (as) return matched(first, value, as);
  as = second.recognise(value, object);
  if (as) return matched(second, value, as);
  as = third.recognise(value, object);
  if (as) return matched(third, value, as);
  as = fourth.recognise(value, object);
  if (as) return matched(fourth, value, as);
  as = fifth.recognise(value, object);
  if (as) return matched(fifth, value, as);
  for (const description of others) {
    as = description.recognise(value, object);
    if (as) return matched(description, value, as);
  }
  const scratch = emptyFold('', []);
  const description = DESCRIPTIONS.find(
    ({ streaming }) => streaming.ownEvents && streaming.take(scratch, value),
  );
  return description ? { description, api: description.api, as: 'event' } : null;
}

function matched(description: ApiDescription<Api>, value: Obj, as: Shape): Match {
  const family = description.familyOf?.(value);
  return { description, api: family ? (`${description.api}${family}` as Api) : description.api, as };
}

const WRAPPERS = 'response body data message result output modelOutput outputBodyJson'.split(' ');

/** What is inside the wrappers that logs, batch files, recordings and fixtures put round a response; it may be JSON text. */
export function inside(value: Obj): Obj | undefined {
  for (const name of WRAPPERS) {
    const inner = value[name];
    const read = typeof inner === 'string' ? tryJson(inner) : inner;
    if (isObject(read)) return read;
  }
  return undefined;
}

/** What `detect` found: the API, whether the value is one event of a stream, and how sure that is. */
export interface Detected {
  api: Api;
  event: boolean;
  /** `named` when the value names its own type, `shape` when only its fields tell. */
  confidence: 'named' | 'shape';
}

/** Returns which API a decoded body or stream event comes from; null when it is none that the parser reads. */
export function detect(value: unknown): Detected | null {
  for (let inner = isObject(value) ? value : undefined; inner; inner = inside(inner)) {
    const match = recognise(inner);
    if (!match) continue;
    const confidence =
      typeof (inner.object ?? inner.type ?? inner.event_type) === 'string' ? 'named' : 'shape';
    return { api: match.api, event: match.as === 'event', confidence };
  }
  return null;
}
