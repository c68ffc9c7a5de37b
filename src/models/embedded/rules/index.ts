/**
 * What the embedded model can say without an application: about the conversation itself, and general talk. Each file is one
 * rule, which reads what was said and returns an answer, or null when it does not understand; this file says in which order
 * they are asked. A rule keeps no state: all it knows is in the request.
 */
import type { Rule } from '../rule.ts';
import { approval } from './approval.ts';
import { count } from './count.ts';
import { help } from './help.ts';
import { identity } from './identity.ts';
import { markdown } from './markdown.ts';
import { name } from './name.ts';
import { past } from './past.ts';
import { picture } from './picture.ts';
import { retry } from './retry.ts';
import { smallTalk } from './small-talk.ts';
import { story } from './story.ts';

/** The rules about the conversation itself: they are asked before those of the application. */
export const FIRST_RULES: readonly Rule[] = [approval, past];

/** General talk, asked after the rules of the application; the first that answers wins. */
export const LAST_RULES: readonly Rule[] = [
  retry,
  name,
  identity,
  count,
  story,
  markdown,
  help,
  smallTalk,
  picture,
];
