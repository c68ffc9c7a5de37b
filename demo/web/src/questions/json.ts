import type { PendingQuestion } from 'duologue/react';

/** Any JSON value. */
export type JsonValue = NonNullable<PendingQuestion['payload']> | null;
