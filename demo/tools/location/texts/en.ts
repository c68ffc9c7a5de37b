/** What the page says about the user's location. */
export const page = {
  title: 'Location',
  suggestions: [{ title: 'Location', text: 'Where am I?' }],
  asked: 'Share your current location with the assistant.',
  done: 'Shared your current location with the assistant.',
  accuracy: (metres: string) => `within ${metres} m`,
  compass: {
    north: (degrees: string) => `${degrees}° N`,
    south: (degrees: string) => `${degrees}° S`,
    east: (degrees: string) => `${degrees}° E`,
    west: (degrees: string) => `${degrees}° W`,
  },
};

/** The error texts of the tool, which the assistant gets. */
export const errors = {
  denied: 'The user did not allow the browser to share the location.',
  unavailable: 'The browser cannot find the location right now.',
  slow: 'The browser took too long to find the location.',
  unsupported: 'This browser has no way to find the location.',
  cancelled: 'The request was cancelled.',
};

/** Patterns for the error texts, each with the text that the user sees. */
export const reasons: readonly [RegExp, string][] = [
  [/^The user did not allow/, 'You did not allow the browser to share your location.'],
  [/^The browser cannot find/, 'The browser can’t find your location right now.'],
  [/^The browser took too long/, 'The browser took too long to find your location.'],
  [/^This browser has no way/, 'This browser can’t find your location.'],
];

/** What the embedded model says about the location. */
export const model = {
  does: 'find where you are',
  example: 'where you are, after your approval: “Where am I?”',
  noTool: {
    thought: 'Where the person is, but there is no tool for it here.',
    text: 'I cannot find out where you are: this agent has no location tool.',
  },
  asked: 'The person asks where they are.',
  subject: 'reading your location',
  within: (metres: number) => `, within ${metres} m`,
  exact: (latitude: number, longitude: number, within: string) =>
    `${half(latitude, 'N', 'S')}, ${half(longitude, 'E', 'W')}${within}`,
  place: (names: readonly string[]) => `in ${names.join(', ')}`,
  near: (town: string) => `near ${town}`,
  youAre: (exact: string, place: string | null) =>
    `You are ${place === null ? `at ${exact}` : `${place} (${exact})`}.`,
};

/** A coordinate as maps write it: a number without a sign, and a letter for the hemisphere. */
function half(value: number, positive: string, negative: string): string {
  return `${Math.abs(value)}° ${value < 0 ? negative : positive}`;
}
