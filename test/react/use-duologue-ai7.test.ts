// @vitest-environment jsdom
import { vi } from 'vitest';
import { describeConversations } from './support/conversations.ts';

vi.mock('@ai-sdk/react', () => import('react7'));

describeConversations('@ai-sdk/react 4');
