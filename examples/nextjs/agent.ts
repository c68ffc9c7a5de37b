import { FunctionTool, LlmAgent } from '@google/adk';
import { z } from 'zod';

const departures = new FunctionTool({
  name: 'next_trains',
  description: 'Lists the next trains to a city.',
  parameters: z.object({ to: z.string() }),
  execute: ({ to }) => ({
    to,
    trains: [
      { at: '10:05', seat: 42 },
      { at: '10:35', seat: 39 },
    ],
  }),
});

const bookTrain = new FunctionTool({
  name: 'book_train',
  description: 'Books a seat in a train.',
  parameters: z.object({ to: z.string(), at: z.string() }),
  requireConfirmation: true,
  execute: ({ to, at }) => ({ booked: `${at} to ${to}` }),
});

/** A clerk at a station: an ADK agent like any other. */
export const agent = new LlmAgent({
  name: 'station_clerk',
  model: process.env.MODEL ?? 'gemini-3.8-flash',
  instruction: 'You sell train tickets. Look the trains up, then book the one that the traveller wants.',
  tools: [departures, bookTrain],
});
