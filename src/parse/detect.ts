import type { ApiDescription, Shape } from './api.ts';
import { APIS, type Api } from './apis/index.ts';
import { emptyFold } from './fold.ts';
import { isObject, type Obj, tryJson } from './json.ts';

/** The API of a value, as {@link recognise} finds it. */
export interface Match {
  /** How values of this API are read. */
  description: ApiDescription;
  api: Api;
  as: Shape;
}

/** Every field that a description may have. A description that lacks a field gets the value from here. */
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

/** The descriptions, all with the same fields in the same order: V8 then calls their functions faster. */
const DESCRIPTIONS = /* @__PURE__ */ APIS.map((api) => ({
  ...FIELDS,
  ...api,
})) as readonly ApiDescription<Api>[];

/**
 * Each of the first five descriptions has its own variable. V8 runs a call that always reaches the same function several times as
 * fast as a call in a loop over different functions. Nearly every value is of one of these five APIs.
 */
const [first, second, third, fourth, fifth, ...others] = DESCRIPTIONS as readonly [
  ApiDescription<Api>,
  ApiDescription<Api>,
  ApiDescription<Api>,
  ApiDescription<Api>,
  ApiDescription<Api>,
  ...ApiDescription<Api>[],
];

/**
 * Finds the API of a body or event by its shape. When several APIs recognise the value, the first one wins. When none does, the
 * value is tried as an event of each API whose events do not look like whole responses.
 */
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

/**
 * Returns the object inside a wrapper that a log, batch file or recording puts around a response; undefined when there is none. The wrapper may hold the
 * object as JSON text.
 */
export function inside(value: Obj): Obj | undefined {
  for (const name of WRAPPERS) {
    const inner = value[name];
    const read = typeof inner === 'string' ? tryJson(inner) : inner;
    if (isObject(read)) return read;
  }
  return undefined;
}

/** The result of {@link detect}. */
export interface Detected {
  api: Api;
  /** Whether the value is one event of a stream. */
  event: boolean;
  /** `named` when the value has a text in `object`, `type` or `event_type`; `shape` when only its other fields show the API. */
  confidence: 'named' | 'shape';
}

/**
 * Finds the API of a value.
 *
 * @param value A decoded body or stream event, also inside a wrapper of a log or batch file.
 * @returns The API; null when the parser does not know the shape.
 */
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
