import { useEffect, useState } from 'react';
import { RowLog, type WireSource } from './row-log.ts';
import type { Row } from './rows.ts';

/** The rows of a source, and functions to pause the list. */
export interface Rows {
  rows: readonly Row[];
  isPaused: boolean;
  hasMore: boolean;
  pause: () => void;
  resume: () => void;
  /** Shows one more row while the list is paused. */
  step: () => void;
  clear: () => void;
}

/** Shows the rows of a source as they come. While the list is paused, new rows are kept and not shown. */
export function useRows(source: WireSource): Rows {
  const [log, setLog] = useState(() => ({ source, log: new RowLog(source) }));
  const [isPaused, setPaused] = useState(false);
  const [, setVersion] = useState(0);
  if (log.source !== source) setLog({ source, log: new RowLog(source) });
  useEffect(() => {
    const update = () => {
      if (!isPaused) log.log.pull();
      setVersion((version) => version + 1);
    };
    update();
    return log.source.subscribe(update);
  }, [log, isPaused]);
  const change = (act: () => void) => () => {
    act();
    setVersion((version) => version + 1);
  };
  return {
    rows: log.log.rows,
    isPaused,
    hasMore: log.log.hasMore,
    pause: () => setPaused(true),
    resume: () => setPaused(false),
    step: change(() => log.log.step()),
    clear: change(() => log.log.clear()),
  };
}
