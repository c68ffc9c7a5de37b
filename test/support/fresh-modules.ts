import { vi } from 'vitest';

// Runs before every test file. Packages stay, our own modules do not: what one file left in them, the next one never sees.
vi.resetModules();
