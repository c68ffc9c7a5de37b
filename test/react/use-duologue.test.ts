// @vitest-environment jsdom
import { hooks } from '../support/sdks.ts';
import { describeConversations } from './support/conversations.ts';

describeConversations(hooks);
