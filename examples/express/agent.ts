import { type BaseLlm, FunctionTool, LlmAgent } from '@google/adk';
import { defineTool } from 'duologue/adk';
import { z } from 'zod';

const books = [
  { title: 'The Tale of Genji', author: 'Murasaki Shikibu', price: 24 },
  { title: 'Middlemarch', author: 'George Eliot', price: 12 },
  { title: 'The Pillow Book', author: 'Sei Shonagon', price: 15 },
];

/** An ordinary ADK tool. */
const findBooks = new FunctionTool({
  name: 'find_books',
  description: 'Finds books of the shop by a word of their title or author.',
  parameters: z.object({ word: z.string() }),
  execute: ({ word }) => ({
    books: books.filter(({ title, author }) =>
      `${title} ${author}`.toLowerCase().includes(word.toLowerCase()),
    ),
  }),
});

/** An ordinary ADK tool that needs approval: the user sees the arguments and approves or denies the call. */
const orderBook = new FunctionTool({
  name: 'order_book',
  description: 'Orders a book for the customer.',
  parameters: z.object({ title: z.string(), copies: z.number().int().min(1) }),
  requireConfirmation: true,
  execute: ({ title, copies }) => ({ ordered: title, copies }),
});

/** A tool that runs in the browser; the page answers it with what it did. */
const showBook = defineTool({
  name: 'show_book',
  description: 'Shows the cover of a book on the page.',
  parameters: z.object({ title: z.string() }),
  runsOn: 'client',
});

/** The shop's assistant: an ADK agent like any other. */
export function createAgent(model: string | BaseLlm): LlmAgent {
  return new LlmAgent({
    name: 'bookseller',
    model,
    instruction:
      'You work in a small bookshop. Find books for the customer, show them, and order what they want.',
    tools: [findBooks, orderBook, showBook],
  });
}
