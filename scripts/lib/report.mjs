import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { root } from './run.mjs';

/** Adds up vitest's own report; a file that could not be loaded, or a crash outside any test, is one failure. */
export function countOf(path, code) {
  const report = readReport(path);
  if (report === null) return { passed: 0, failed: 1, skipped: 0 };
  const unloaded = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  ).length;
  const failed = report.numFailedTests + unloaded;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** The slowest tests of vitest's report, as lines to print. */
export function slowestOf(path, count) {
  return (readReport(path)?.testResults ?? [])
    .flatMap(({ name, assertionResults }) =>
      assertionResults.map(({ fullName, duration = 0 }) => ({
        file: relative(root, name),
        fullName,
        duration,
      })),
    )
    .sort((one, other) => other.duration - one.duration)
    .slice(0, count)
    .map(
      ({ file, fullName, duration }) => `${(duration / 1000).toFixed(1).padStart(6)} s  ${file}: ${fullName}`,
    );
}

/** The tests of vitest's report that failed, each with its error message, as lines to print. */
export function failuresOf(path) {
  return (readReport(path)?.testResults ?? []).flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === 'failed');
    const file = relative(root, name);
    if (failed.length === 0) return status === 'failed' ? [`  ${file}`, beginning(message)] : [];
    return failed.flatMap(({ fullName, failureMessages }) => [
      `  ${file}: ${fullName}`,
      beginning((failureMessages ?? []).join('\n')),
    ]);
  });
}

/** The first lines of a message, enough to show the cause. The whole message was printed before. */
const beginning = (message) =>
  message
    .slice(0, 4_000)
    .split('\n')
    .filter((line) => !line.includes('/node_modules/vitest/') && !line.includes('/node_modules/@vitest/'))
    .slice(0, 40)
    .map((line) => `      ${line}`)
    .join('\n');

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}
