/** What a model is told when a person wants it to continue an answer that was cut. The person does not see it. */
export const CONTINUE =
  'Your last answer was cut off. Continue it exactly where it stopped. Do not repeat what you wrote, and do not comment on the interruption.';
