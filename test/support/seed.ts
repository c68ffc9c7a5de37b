import fc from 'fast-check';

// The same cases every time, so that what passed on one machine passes on the next. DUOLOGUE_SEED plays others.
fc.configureGlobal({ seed: Number(process.env.DUOLOGUE_SEED ?? 1) });
