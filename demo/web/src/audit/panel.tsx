import { Download } from 'lucide-react';
import { useMemo } from 'react';
import { usePanelTexts } from '../i18n/panels.ts';
import { saveFile } from '../inspector/save.ts';
import type { PanelProps } from '../panel/panels.ts';
import { Button } from '../ui/button.tsx';
import { ApprovalRecord } from './approval-record.tsx';
import { type AuditLine, toCsv, toJsonLines } from './audit-line.ts';
import { useAuditLog } from './use-audit-log.ts';

/** The side panel with the approval log of a conversation. */
export default function AuditPanel({ sessionId }: PanelProps) {
  const words = usePanelTexts().audit;
  const { log, hasFailed, refresh, readOlder } = useAuditLog(sessionId);
  const approvals = useMemo(() => byApproval(log?.lines ?? []), [log]);
  if (hasFailed) {
    return (
      <div role="alert" className="space-y-3 p-4 text-sm">
        <p>{words.failed}</p>
        <Button onClick={refresh}>{words.refresh}</Button>
      </div>
    );
  }
  if (log === null) return null;
  const { lines, hasOlder } = log;
  if (lines.length === 0) return <p className="p-4 text-sm text-soft">{words.none}</p>;
  const name = `${sessionId}.approvals`;
  return (
    <div className="space-y-4 p-4">
      <p className="text-sm text-soft">{words.intro}</p>
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => saveFile(`${name}.jsonl`, 'application/x-ndjson', toJsonLines(lines))}>
          <Download className="size-4" aria-hidden="true" />
          {words.jsonl}
        </Button>
        <Button onClick={() => saveFile(`${name}.csv`, 'text/csv', toCsv(lines))}>
          <Download className="size-4" aria-hidden="true" />
          {words.csv}
        </Button>
      </div>
      {hasOlder ? (
        <div className="space-y-2">
          <p className="text-sm text-soft">{words.newest}</p>
          <Button onClick={readOlder}>{words.older}</Button>
        </div>
      ) : null}
      <ol className="space-y-3">
        {approvals.map(([id, steps]) => (
          <ApprovalRecord key={id} lines={steps} />
        ))}
      </ol>
    </div>
  );
}

/** Groups the lines by approval request, in the order of their first lines. */
function byApproval(lines: readonly AuditLine[]): [id: string, lines: AuditLine[]][] {
  const approvals = new Map<string, AuditLine[]>();
  for (const line of lines) {
    const id = line.approvalId ?? line.toolCallId ?? '';
    const known = approvals.get(id);
    if (known) known.push(line);
    else approvals.set(id, [line]);
  }
  return [...approvals];
}
