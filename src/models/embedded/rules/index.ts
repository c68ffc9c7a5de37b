/**
 * What the embedded model can say without an application: about the conversation itself, and general talk. Each rule
 * reads the request and returns an answer, or null when it does not understand; this file says in which order
 * they are asked. A rule keeps no state: all it knows is in the request.
 */
import type { Rule } from '../rule.ts';
import { approval, name, past, retry } from './about-conversation.ts';
import { help, identity } from './about-me.ts';
import { picture } from './picture.ts';
import { smallTalk } from './small-talk.ts';

/** The rules about the conversation itself: they are asked before those of the application. */
export const FIRST_RULES: readonly Rule[] = [approval, past];

/** General talk, asked after the rules of the application; the first that answers wins. */
export const LAST_RULES: readonly Rule[] = [retry, name, identity, help, smallTalk, picture];
