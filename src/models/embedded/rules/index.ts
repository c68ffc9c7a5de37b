import type { Rule } from '../rule.ts';
import { approval } from './approval.ts';
import { balance } from './balance.ts';
import { count } from './count.ts';
import { help } from './help.ts';
import { identity } from './identity.ts';
import { location } from './location.ts';
import { markdown } from './markdown.ts';
import { music } from './music.ts';
import { name } from './name.ts';
import { past } from './past.ts';
import { payment } from './payment.ts';
import { picture } from './picture.ts';
import { retry } from './retry.ts';
import { smallTalk } from './small-talk.ts';
import { story } from './story.ts';
import { weather } from './weather.ts';

/** The rules in the order they are asked; the first that answers wins. To add one, write its file and name it here. */
export const RULES: readonly Rule[] = [
  approval,
  past,
  payment,
  retry,
  music,
  weather,
  location,
  balance,
  name,
  identity,
  count,
  story,
  markdown,
  help,
  smallTalk,
  picture,
];
