/** How much of the sound of a message was played when the person interrupted; of the one that is being spoken, if none is named. */
export interface Played {
  messageId?: string;
  playedMs: number;
}
