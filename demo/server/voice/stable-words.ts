/** Finds the words on which two successive interim transcripts agree, because later transcripts rarely change them. */
export class StableWords {
  private last: string[] = [];
  private reported = 0;

  /** Takes the transcript so far, and returns the newly stable words with a trailing space; often none. */
  push(text: string): string {
    const words = text.split(/\s+/).filter(Boolean);
    let agreed = 0;
    while (agreed < words.length && words[agreed] === this.last[agreed]) agreed++;
    this.last = words;
    const further = words.slice(this.reported, agreed);
    this.reported = Math.max(this.reported, agreed);
    return further.map((word) => `${word} `).join('');
  }
}
