const STORY = `# The two lighthouses

Two lighthouses stood on either side of a strait. Every evening the one in the east lit its lamp and told the one in the west what it had seen. The other listened until the light went dark, and only then did it answer. A single exchange took most of the night.

One winter a fishing boat drifted into the strait while the eastern light was in the middle of a very long tale. The western keeper saw the boat and could not say so: it was not her turn. She waited, the boat drifted on, and it was only luck that carried it past the rocks.

The next morning the keepers met halfway and agreed on three rules:

1. **Both may speak at any time.** Two lights do not disturb each other.
2. **A light that is interrupted stops at once.** The story can wait, a boat cannot.
3. **What matters is asked first.** No boat is moved without its captain's word.

They wrote the rules on a board so that they would not forget them:

\`\`\`text
east -> west   a story, a warning, a question
west -> east   at the same time
captain        says yes or no
\`\`\`

From then on the strait was full of light. Sometimes one of them stopped in the middle of a word, and the other knew why. The captains came to like it, for they were always asked, and nothing ever happened behind their backs.

The board still hangs there, a little faded. If you pass by at night, you can see *both* lamps at once, and with some patience you can even read what they say.
`;

const MARKDOWN = `## A heading

Text with **strong**, *emphasis*, \`code\` and ~~deleted~~ words.

- a point
  - a point below it

1. first
2. second

> A quoted line.

| Tool | Asks |
|---|---|
| \`process_payment\` | yes |
| \`get_weather\` | no |

\`\`\`ts
const answer: number = 6 * 7;
\`\`\`
`;

/** What the embedded model answers when the user wants a longer text. */
export const en = {
  example: 'longer texts: “Tell me a story”, “Count to 50”, “Show Markdown”',
  count: {
    thought: (to: string) => `The person wants me to count to ${to}.`,
    limit: (most: number) => `I stop at ${most}.`,
    nothing: 'There is nothing to count.',
  },
  story: { thought: 'The person wants a longer text.', text: STORY },
  markdown: { thought: 'The person wants to see Markdown.', text: MARKDOWN },
};
