import { vi } from 'vitest';

// Runs before every test file. Packages stay loaded; our own modules are loaded anew, so that no test file sees the state that another left in them.
vi.resetModules();
