/** How providers' keys look, and the words that stand before one. */
const KEY =
  /(\b(?:sk-|AIza|AQ\.|AKIA|ASIA|ABSK|ya29\.|gsk_|xai-|hf_)|\b(?:bearer|basic)\s+|(?:key|token|secret|credential|signature)["']?\s*[:=]\s*["']?)[\w\-.~+/=*%]{6,}/gi;

const LONGEST = 500;

/** A text without anything that may be a key: those that are known, and what looks like one. */
export function withoutKeys(text: string, secrets: readonly string[] = []): string {
  let clean = text;
  // Short ones would make holes everywhere; no provider gives out such.
  for (const secret of secrets) if (secret.length >= 6) clean = clean.replaceAll(secret, '…');
  return clean.replace(KEY, '$1…');
}

/** What a provider said as one line of words: of a web page its title, of anything long its beginning. */
export function inWords(text: string): string {
  const isPage = /<(!doctype|html|head|body)\b/i.test(text);
  const title = /<title[^>]*>([^<]*)/i.exec(text)?.[1]?.trim();
  const words = isPage ? (title ? `a web page: ${title}` : 'a web page instead of an answer') : text;
  return words.replace(/\s+/g, ' ').trim().slice(0, LONGEST);
}
