import type { Executor } from 'duologue/client';
import type { LucideIcon } from 'lucide-react';
import type { ComponentType } from 'react';
import type { Language } from '../i18n/language.tsx';

/** Something to begin with that the empty page offers. */
export interface Suggestion {
  title: string;
  text: string;
}

/** A sentence with places such as `{amount}`, and what stands in them. */
export interface CallSentence {
  template: string;
  values: Readonly<Record<string, string>>;
  /** The arguments that the sentence tells without loss. */
  inSentence: readonly string[];
}

/** A tool that runs in the browser, for as long as the page lives. */
export interface RunningTool {
  execute: Executor;
  /** What it adds to the header of the page. */
  Control?: ComponentType;
  /** Called when the user or the agent starts or stops speaking, so that a tool with sound can lower it. */
  duck?(isSpeech: boolean): void;
}

/** The page's side of a tool: what `web/index.tsx` in its folder exports by default. */
export interface PageTool {
  /** The name by which the agent calls it. */
  name: string;
  icon: LucideIcon;
  words: Readonly<Record<Language, { title: string; suggestions: readonly Suggestion[] }>>;
  /** An icon for each suggestion, in their order; the icon of the tool unless given. */
  suggestionIcons?: readonly LucideIcon[];
  /** Says what a call will do, or did; without it the page says "Run <name>". */
  sentence?(input: Readonly<Record<string, unknown>>, isDone: boolean, language: Language): CallSentence;
  /** What a failed call told the agent, in the words of the page; undefined leaves it as it is. */
  failure?(errorText: string, language: Language): string | undefined;
  /** Shows what a call gave; `isBrief` when what was asked for stands above already. */
  Result?: ComponentType<{ output: Readonly<Record<string, unknown>>; isBrief: boolean; className: string }>;
  /** Begins what a tool of the browser needs; without it the tool runs on the server. */
  start?(): RunningTool;
}
