/** What the page says about the weather. */
export const page = {
  title: 'Weather',
  suggestions: [{ title: 'Weather', text: 'What is the weather in Tokyo?' }],
  humidity: (percent: string) => `${percent} humidity`,
  sample: 'Sample data',
  conditions: {
    Sunny: 'Sunny',
    Clear: 'Clear',
    Clouds: 'Cloudy',
    Cloudy: 'Cloudy',
    Rainy: 'Rainy',
    Rain: 'Rain',
    Windy: 'Windy',
    Foggy: 'Foggy',
    Snow: 'Snow',
  } as Record<string, string>,
};

/** The error texts of the tool, which the assistant and the user see. */
export const errors = {
  noLocation: 'The location is missing.',
  silent: (location: string) => `The weather service did not answer for ${location}. Try again later.`,
  unknown: (location: string) => `The weather service does not know ${location}.`,
  key: 'The weather service does not accept the key. Check OPENWEATHERMAP_API_KEY.',
  status: (status: number, location: string) =>
    `The weather service answered with status ${status} for ${location}.`,
  unreadable: (location: string) => `The weather service sent something unexpected for ${location}.`,
};

/** The note in the output of sample data. */
export const sampleNote = 'Sample data, not a real forecast';

/** What the embedded model says about the weather. */
export const model = {
  does: 'tell the weather',
  example: 'the weather: “What is the weather in Tokyo?”',
  noTool: {
    thought: 'The weather, but there is no tool for it here.',
    text: 'I cannot look up the weather here: this agent has no weather tool.',
  },
  noCity: { thought: 'The weather, but for which city?', text: 'For which city?' },
  asked: (cities: string) => `The person asks about the weather in ${cities}.`,
  sample: '(This is sample data, not a real measurement.)',
  onlyNow: 'This is the weather now; I have no forecast.',
  subject: (city: string) => `the weather look-up for ${city}`,
  sky: (words: string) => words.toLowerCase(),
  temperature: (degrees: number, feelsLike: number | undefined) =>
    `${degrees} °C${feelsLike === undefined ? '' : ` (feels like ${feelsLike} °C)`}`,
  humidity: (percent: number) => `humidity ${percent} %`,
  wind: (speed: number) => `wind ${speed} m/s`,
  weather: (city: string, facts: readonly string[]) => `The weather in ${city}: ${facts.join(', ')}.`,
};
