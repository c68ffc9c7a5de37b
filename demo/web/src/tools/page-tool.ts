import type { Executor } from 'duologue/client';
import type { LucideIcon } from 'lucide-react';
import type { ComponentType } from 'react';
import type { Language } from '../i18n/language.tsx';

/** An example message that an empty conversation offers. */
export interface Suggestion {
  title: string;
  text: string;
}

/** A sentence with placeholders such as `{amount}`, and their values. */
export interface CallSentence {
  template: string;
  values: Readonly<Record<string, string>>;
  /** The names of the arguments that the sentence shows in full, so that the details can leave them out. */
  inSentence: readonly string[];
}

/** A browser tool that was started on this page. */
export interface RunningTool {
  execute: Executor;
  /** A control for the header of the page. */
  Control?: ComponentType;
  /** Called when the user or the agent starts or stops speaking, so that a tool with sound can lower it. */
  duck?(isSpeech: boolean): void;
}

/** The page part of a tool: the default export of `web/index.tsx` in its folder. */
export interface PageTool {
  /** The name by which the agent calls it. */
  name: string;
  icon: LucideIcon;
  words: Readonly<Record<Language, { title: string; suggestions: readonly Suggestion[] }>>;
  /** An icon for each suggestion, in their order; the icon of the tool unless given. */
  suggestionIcons?: readonly LucideIcon[];
  /** Says what a call will do, or did; without it the page says "Run <name>". */
  sentence?(input: Readonly<Record<string, unknown>>, isDone: boolean, language: Language): CallSentence;
  /** Translates the error text of a failed call for the user; undefined when it has no translation. */
  failure?(errorText: string, language: Language): string | undefined;
  /** Shows the output of a call. `isBrief`: the arguments are shown above already. */
  Result?: ComponentType<{ output: Readonly<Record<string, unknown>>; isBrief: boolean; className: string }>;
  /** Starts a browser tool. A tool without this function runs on the server. */
  start?(): RunningTool;
}
