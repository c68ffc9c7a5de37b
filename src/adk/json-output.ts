/** The output of a tool as JSON can hold it; throws in words when there is no JSON for it. */
export function toJsonOutput(toolName: string, output: unknown): unknown {
  return toJson(output, `${toolName} ran, but its output cannot be written as JSON.`);
}

/** The response that a callback gave instead of the output of a tool. */
export function toJsonResponse(toolName: string, response: unknown): unknown {
  return toJson(response, `A callback gave a response for ${toolName} that cannot be written as JSON.`);
}

/** Throws in words when state that a tool changed cannot be stored. */
export function checkState(toolName: string, stateDelta: object): void {
  if (!hasJson(stateDelta))
    throw new Error(`${toolName} ran, but the state that it changed cannot be written as JSON.`);
}

/**
 * A value as it is stored, sent and shown to the model: a BigInt becomes its decimal digits, and everything else stays as it is. An
 * object that contains itself has no JSON.
 */
function toJson(value: unknown, failure: string): unknown {
  if (hasJson(value)) return value;
  try {
    return JSON.parse(JSON.stringify(value, withDigits)) as unknown;
  } catch {
    throw new Error(failure);
  }
}

/** Whether a value can be written as JSON. A `toJSON` method of an object may throw as well. */
function hasJson(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}

function withDigits(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
