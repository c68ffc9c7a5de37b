import type { Write } from './watched-store.ts';

/**
 * What the model and the person do not do here, because the server is known to go wrong then. Each can be lifted alone: set it to
 * true, and the commands do that, too, or the rules ask for it.
 */
export interface Lifted {
  /** Words, sound or calls of a live model after its `turnComplete`, with nothing said to it since: a message that nothing ends. */
  speechAfterTurn: boolean;
  /** A microphone that is on while the model refuses connections: one connection for every piece of sound, and no error told. */
  soundWhileRefused: boolean;
  /** A live model that takes a call back: a card that is open stays, and can be approved. */
  cancellation: boolean;
  /** A live model that ends its turn while a call is open, as with tools that do not block it: one `[DONE]` too many. */
  turnEndsBesideCall: boolean;
  /** Whether a turn of the socket whose last call a posted message superseded must end with a `finish`: it never does. */
  supersededTurnEnds: boolean;
  /** Whether a turn that a live model was to come back to, about a late answer, must end when its run ends before: it does not. */
  overtakenTurnEnds: boolean;
  /** A shutdown while a post waits for its turn: it is neither refused nor answered, or begins and never ends. */
  waitingPostAtShutDown: boolean;
  /** A post while another is under way: when it begins, what could stop it is lost. */
  postBehindPost: boolean;
  /** A process that dies while a posted turn runs a tool: beside a card, the call stays open in its message. */
  deathInPostedTool: boolean;
  /** Whether a decided card that is left out of a replay takes its step along: the step stays, and is empty. */
  noEmptyStep: boolean;
  /** Several calls at once while a typed message waits: it begins between them, and its answer lands in the message before. */
  callsBesideQueue: boolean;
  /** A run that fails while a post waits: the response of the post is the end of another message. */
  failureWhilePostWaits: boolean;
  /** A post while a live model still owes a turn: the run is ended, and the message it owed the turn to is not. */
  postOverLiveTurn: boolean;
  /**
   * A page that loads everything when there have been calls, or after a restart: messages that the reset holds come again as
   * chunks, or of one that was begun by an earlier process only the rest comes.
   */
  resetInReplay: boolean;
  /** An answer by post while a card of another message is still to be shown: it is shown to nobody, and waits for ever. */
  postedAnswerBesideHidden: boolean;
  /** Commands that follow each other before everything that the one before set off has happened. */
  overlap: boolean;
  /** Writes that take until the disk is done. */
  slowDisk: boolean;
  /** Writes that may fail. */
  failingWrites: readonly Write[];
}

/** As the server is now. */
export const NOTHING_LIFTED: Lifted = {
  speechAfterTurn: true,
  soundWhileRefused: true,
  cancellation: true,
  turnEndsBesideCall: true,
  supersededTurnEnds: true,
  overtakenTurnEnds: true,
  waitingPostAtShutDown: true,
  postBehindPost: true,
  deathInPostedTool: true,
  noEmptyStep: true,
  callsBesideQueue: true,
  failureWhilePostWaits: true,
  postOverLiveTurn: true,
  resetInReplay: true,
  postedAnswerBesideHidden: true,
  overlap: false,
  slowDisk: false,
  failingWrites: [],
};
