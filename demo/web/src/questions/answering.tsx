import { createContext, type ReactNode, useContext } from 'react';
import type { JsonValue } from './json.ts';

/** Sends what the user made of a question. Each rejects with the reason when the server does not accept it. */
export interface Answering {
  answer: (toolCallId: string, value: JsonValue) => Promise<void>;
  decline: (toolCallId: string) => Promise<void>;
}

const nothing = () => Promise.resolve();
const Context = createContext<Answering>({ answer: nothing, decline: nothing });

/** Lets the cards below send answers. */
export function AnsweringProvider({ value, children }: { value: Answering; children: ReactNode }) {
  return <Context value={value}>{children}</Context>;
}

/** Sends what the user made of a question. */
export function useAnswering(): Answering {
  return useContext(Context);
}
