/** English words that stand in most requests, whatever they ask for. */
export const COMMON_WORDS: readonly string[] = (
  "hello hi thanks thank yes no please what what's who where when how much many is it i'm am are do does can could would you i me my " +
  'we the a an some to in on at of for from and or not need have tell show give help stop again today now one two three four five ' +
  'six seven eight nine ten twenty thirty forty fifty sixty seventy eighty ninety hundred'
).split(' ');
