/** The length of the longest message that the rules try to understand. The model calls no tool for a longer message. */
export const LONGEST_UNDERSTOOD = 1000;

/** Unifies the spelling of a message: full-width forms, quotes, dashes and spaces; trims both ends. */
export function tidy(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[‘’‛`´]/g, "'")
    .replace(/[“”„«»]/g, '"')
    .replace(/[−–—‒]/g, '-')
    .replace(/[⟦⟧]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

const SENTENCE_ENDS =
  /(?<=[。!?])\s*|(?<=\.)\s+(?=\S)|,?\s+and\s+(?:then\s+|also\s+)?(?=(?:tell|show|what|where|how|is it|play|change|switch|check|send|pay|transfer|get|give)\b)|(?<=て(?:ください|下さい)?)、/i;

/** Cuts a message into its sentences and into requests joined by "and", without their full stops. */
export function sentencesOf(text: string): string[] {
  return text
    .split(SENTENCE_ENDS)
    .map((sentence) => sentence.replace(/(?<![。.!])[。.!]+$/, '').trim())
    .filter((sentence) => sentence !== '');
}

const OPENINGS_EN =
  /^(?:(?:(?:hi|hello|hey),? duologue|hi|hello|hey|hi there|hello there|ok|okay|yes|yeah|yep|sure|now|then|also|and|so|well|please|kindly|just|actually)(?:[,.!:]+\s*|\s+)|(?:no|great|good|fine|right|thanks|thank you|alright|all right|sorry|excuse me|thanks a lot)[,.!:]+\s*|(?:(?:can|could|would|will) you(?: please| kindly| just)?|i(?:'d| would) (?:like|love)(?: you)? to|i (?:want|need)(?: you)? to|i wanna|let'?s|let me|help me(?: to)?|go ahead and|be so kind as to)\s+)/i;

const OPENINGS_JA =
  /^(?:はい|うん|ええ|すみません(?:が)?|すいません(?:が)?|ねえ|じゃあ|じゃ|では|それでは|それと|それから|あと(?=[、,\s])|あの|えっと|ちょっと|ところで|ありがとう(?:ございます)?|こんにちは|こんばんは|おはよう(?:ございます)?|お願い(?:します)?|今すぐ|すぐに|では次に|次に|また|悪いけど|(?:私|わたし|僕|ぼく|俺)(?:は|が))[、,。!\s]*/;

/** Removes greetings and polite openings that say nothing about the request itself. */
export function withoutOpening(text: string): string {
  let rest = text;
  for (let round = 0; round < 8; round += 1) {
    const shorter = rest.replace(OPENINGS_EN, '').replace(OPENINGS_JA, '').trim();
    if (shorter === rest || shorter === '') return rest;
    rest = shorter;
  }
  return rest;
}

const CLOSINGS_EN =
  /(?<![\s,])[\s,]*\b(?:please|now|right now|right away|immediately|today|thanks|thank you|too|as well|for me|from my wallet|ok|okay|asap|at once|currently|at the moment|then|if you can|if possible)$/i;

const CLOSINGS_JA =
  /(?<![、,\s])[、,\s]*(?:よろしく(?:お願い(?:いた|致)?し?(?:ます)?)?|お願い(?:いた|致)?し?(?:ます)?|ください|下さい|ね|よ)$/;

/** Removes closing punctuation and polite endings. */
export function withoutClosing(text: string): string {
  let rest = text;
  for (let round = 0; round < 8; round += 1) {
    const shorter = rest
      .replace(/(?<![\s.!?。、,;:…~〜])[\s.!?。、,;:…~〜]+$/, '')
      .replace(CLOSINGS_EN, '')
      .replace(CLOSINGS_JA, '')
      .trim();
    if (shorter === rest || shorter === '') return shorter === '' ? rest : shorter;
    rest = shorter;
  }
  return rest;
}

/** The request itself: the message without polite openings and endings. */
export function coreOf(text: string): string {
  return withoutClosing(withoutOpening(withoutClosing(text)));
}
