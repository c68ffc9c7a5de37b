import { createContext, type ReactNode, useContext } from 'react';
import type { JsonValue } from './json.ts';

/** Sends the answer to a question, or declines it. The promises reject when the server refuses. */
export interface Answering {
  answer: (toolCallId: string, value: JsonValue) => Promise<void>;
  decline: (toolCallId: string) => Promise<void>;
}

const nothing = () => Promise.resolve();
const Context = createContext<Answering>({ answer: nothing, decline: nothing });

/** Provides these functions to the cards in `children`. */
export function AnsweringProvider({ value, children }: { value: Answering; children: ReactNode }) {
  return <Context value={value}>{children}</Context>;
}

/** The functions that send the answer to a question. */
export function useAnswering(): Answering {
  return useContext(Context);
}
