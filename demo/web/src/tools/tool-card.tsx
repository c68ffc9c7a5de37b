import { ChevronRight, LoaderCircle, TriangleAlert, Wrench } from 'lucide-react';
import { Collapsible } from 'radix-ui';
import type { ReactNode } from 'react';
import { useLanguage, useMessages } from '../i18n/language.tsx';
import { failureText } from './failure-text.ts';
import { pageTool, toolTitle } from './page-tools.tsx';
import { ToolDetails } from './tool-details.tsx';
import { hasOutput, isInProgress, type ToolPart, toolName } from './tool-part.ts';
import { ToolProgress } from './tool-progress.tsx';
import { ToolResult } from './tool-result.tsx';

/** Shows a call that needs no approval: its tool, its state and its output; when the user opens it, its arguments too. */
export function ToolCard({ part }: { part: ToolPart }) {
  const { messages, language } = useLanguage();
  const name = toolName(part);
  const Icon = pageTool(name)?.icon ?? Wrench;
  const isDenied = part.errorText?.startsWith('User denied the tool call') === true;
  const isFailed = part.state === 'output-error' && !isDenied;
  const isDone = hasOutput(part);
  return (
    <Collapsible.Root
      data-testid="tool-card"
      data-state-of-call={part.state}
      data-tool={name}
      className={`animate-rise overflow-hidden rounded-xl border ${isFailed ? 'border-bad-line bg-bad-tint' : 'border-line bg-surface'}`}
    >
      <Collapsible.Trigger className="group flex w-full items-center gap-3 px-4 py-2.5 text-left text-sm">
        <Icon className="size-4 shrink-0 text-soft" aria-hidden="true" />
        <span className="font-medium">{toolTitle(name, messages, language)}</span>
        <Status part={part} />
        <span className="sr-only">{messages.tools.details}</span>
        <ChevronRight
          className="ml-auto size-4 shrink-0 text-soft transition-transform group-data-[state=open]:rotate-90"
          aria-hidden="true"
        />
      </Collapsible.Trigger>
      <ToolProgress part={part} className="px-4 pb-3" />
      {isDone ? <ToolResult part={part} className="px-4 pb-3" /> : null}
      {isFailed ? <p className="px-4 pb-3 text-sm">{failureText(part, language, messages)}</p> : null}
      <Collapsible.Content className="border-t border-line">
        <ToolDetails part={part} />
      </Collapsible.Content>
    </Collapsible.Root>
  );
}

function Status({ part }: { part: ToolPart }): ReactNode {
  const { tools, approval } = useMessages();
  switch (isInProgress(part) ? 'input-available' : part.state) {
    case 'output-available':
      return null;
    case 'output-denied':
      return <span className="text-xs text-soft">{approval.denied}</span>;
    case 'output-error':
      if (part.errorText?.startsWith('User denied the tool call')) {
        return <span className="text-xs text-soft">{approval.denied}</span>;
      }
      return (
        <span className="inline-flex items-center gap-1.5 text-xs font-medium text-bad">
          <TriangleAlert className="size-3.5" aria-hidden="true" />
          {tools.failed}
        </span>
      );
    default: {
      const isHere = part.state === 'input-available' && part.toolMetadata?.runsOn === 'client';
      const words =
        part.state === 'input-streaming' ? tools.preparing : isHere ? tools.inBrowser : tools.running;
      return (
        <span className="inline-flex items-center gap-1.5 text-xs text-soft">
          <LoaderCircle className="size-3.5 animate-spin" aria-hidden="true" />
          {words}
        </span>
      );
    }
  }
}
