#!/usr/bin/env node
// Checks the subject of a commit message in a file; git's hook commit-msg runs it (scripts/hooks).
import { readFileSync } from 'node:fs';

const MAX_LENGTH = 72;

/** What is wrong with the subject of a commit message, in one sentence; null when it is right. */
function faultOf(message) {
  const subject = message.split('\n').find((line) => line.trim() !== '' && !line.startsWith('#')) ?? '';
  // Git writes these subjects itself.
  if (/^(?:Merge|Revert|fixup!|squash!|amend!) /.test(subject)) return null;
  if (!/^[a-z][\w ,./-]*: \S/.test(subject))
    return `The subject "${subject}" has no area: write "area: what changed", such as "server: keep idle sockets for 75 s".`;
  if (subject.length > MAX_LENGTH)
    return `The subject has ${subject.length} characters, and may have ${MAX_LENGTH}: move the reason into the body.`;
  return null;
}

const fault = faultOf(readFileSync(process.argv[2], 'utf8'));
if (fault !== null) {
  console.error(fault);
  process.exitCode = 1;
}
