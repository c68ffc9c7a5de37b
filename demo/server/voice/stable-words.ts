/** Of what is understood while somebody still speaks, the words that two looks in a row agree on: later ones hardly change them. */
export class StableWords {
  private last: string[] = [];
  private told = 0;

  /** Takes all that is understood so far, and returns the further words that stay, with a space behind; often none. */
  push(text: string): string {
    const words = text.split(/\s+/).filter(Boolean);
    let agreed = 0;
    while (agreed < words.length && words[agreed] === this.last[agreed]) agreed++;
    this.last = words;
    const further = words.slice(this.told, agreed);
    this.told = Math.max(this.told, agreed);
    return further.map((word) => `${word} `).join('');
  }
}
