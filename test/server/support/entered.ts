import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';

/** Says which files of this process ran a function, by V8's coverage. */
export class Entered {
  private readonly session = new Session();

  /** Starts to count. Functions that ran before do not count. */
  async start(): Promise<void> {
    this.session.connect();
    await this.session.post('Profiler.enable');
    await this.session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  /** The files under a folder of which a function ran since the last call, relative to the folder, in order. */
  async take(folder: string): Promise<string[]> {
    const { result } = await this.session.post('Profiler.takePreciseCoverage');
    const files = result.flatMap(({ url, functions }) => {
      const path = url.startsWith('file:') ? fileURLToPath(url) : url;
      // Functions without a name are the module itself, and the getters by which Vite shows its exports to importers.
      const isEntered = functions.some(
        ({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0,
      );
      return isEntered && path.startsWith(folder) ? [path.slice(folder.length)] : [];
    });
    return [...new Set(files)].sort();
  }

  /** Stops to count. */
  async stop(): Promise<void> {
    await this.session.post('Profiler.stopPreciseCoverage');
    this.session.disconnect();
  }
}
