/** The instruction that a model gets when a person asks it to continue a cut answer. The person does not see it. */
export const CONTINUE =
  'Your last answer was cut off. Continue it exactly where it stopped. Do not repeat what you wrote, and do not comment on the interruption.';
