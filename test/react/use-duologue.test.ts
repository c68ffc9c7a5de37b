// @vitest-environment jsdom
import { describeConversations } from './support/conversations.ts';

describeConversations('@ai-sdk/react 3');
