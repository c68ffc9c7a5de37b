/**
 * The embedded model's own rules: about the conversation itself, and for general talk. Each rule reads the request and returns an answer, or null when it
 * does not understand the message. This file lists the order in which the rules are tried. A rule keeps no state: it reads everything from the request.
 */
import type { Rule } from '../rule.ts';
import { approval, name, past, retry } from './about-conversation.ts';
import { help, identity } from './about-me.ts';
import { file } from './file.ts';
import { picture } from './picture.ts';
import { smallTalk } from './small-talk.ts';

/** The rules about the conversation itself. They are tried before the rules of the application. */
export const FIRST_RULES: readonly Rule[] = [approval, past];

/** The rules for general talk. They are tried after the rules of the application; the first rule that answers wins. */
export const LAST_RULES: readonly Rule[] = [retry, name, identity, help, smallTalk, picture, file];
