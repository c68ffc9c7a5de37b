import * as audio from 'duologue/client/audio';

declare global {
  interface Window {
    audio: typeof audio;
  }
}

window.audio = audio;
