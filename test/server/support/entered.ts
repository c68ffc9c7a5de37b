import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';

/** Tells which files have functions that were entered. */
export class Entered {
  private readonly session = new Session();

  async start(): Promise<void> {
    this.session.connect();
    await this.session.post('Profiler.enable');
    await this.session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  /** The files with functions that were entered since the last time, relative to a folder. */
  async take(root: string): Promise<string[]> {
    const { result } = await this.session.post('Profiler.takePreciseCoverage');
    const files = result.flatMap(({ url, functions }) => {
      const path = url.startsWith('file:') ? fileURLToPath(url) : url;
      // The first one is the module itself.
      const isEntered = functions.some(
        ({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0,
      );
      return isEntered && path.startsWith(root) ? [path.slice(root.length)] : [];
    });
    return [...new Set(files)].sort();
  }

  async stop(): Promise<void> {
    await this.session.post('Profiler.stopPreciseCoverage');
    this.session.disconnect();
  }
}
