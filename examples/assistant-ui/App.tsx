import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  ErrorPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  type ToolCallMessagePartProps,
} from '@assistant-ui/react';
import { useAgentRuntime } from './chat.ts';
import './style.css';

/** Asks the user about a call. */
function Call({ toolName, args, approval, respondToApproval }: ToolCallMessagePartProps) {
  if (!approval || approval.approved !== undefined) return null;
  return (
    <fieldset>
      <legend>
        {toolName} {JSON.stringify(args)}
      </legend>
      <button type="button" onClick={() => respondToApproval({ approved: true })}>
        Approve
      </button>
      <button type="button" onClick={() => respondToApproval({ approved: false })}>
        Deny
      </button>
    </fieldset>
  );
}

const Text = ({ text }: { text: string }) => <p>{text}</p>;

const parts = { Text, tools: { Fallback: Call } };

function UserMessage() {
  return (
    <MessagePrimitive.Root className="user">
      <MessagePrimitive.Parts components={parts} />
    </MessagePrimitive.Root>
  );
}

function AssistantMessage() {
  return (
    <MessagePrimitive.Root>
      <MessagePrimitive.Parts components={parts} />
      <MessagePrimitive.Error>
        <ErrorPrimitive.Root>
          <ErrorPrimitive.Message />
        </ErrorPrimitive.Root>
      </MessagePrimitive.Error>
    </MessagePrimitive.Root>
  );
}

const messages = { UserMessage, AssistantMessage };

export function App() {
  return (
    <AssistantRuntimeProvider runtime={useAgentRuntime()}>
      <h1>Florist</h1>
      <ThreadPrimitive.Root>
        <main aria-live="polite">
          <ThreadPrimitive.Messages components={messages} />
        </main>
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Message" placeholder="Send tulips to Ann" rows={1} />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}
