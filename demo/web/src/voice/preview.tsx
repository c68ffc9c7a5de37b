/** The picture of the camera or screen that the model gets. */
export function Preview({ stream, label }: { stream: MediaStream; label: string }) {
  return (
    <video
      ref={(video) => {
        if (video && video.srcObject !== stream) video.srcObject = stream;
      }}
      autoPlay
      muted
      playsInline
      aria-label={label}
      data-testid="camera-preview"
      className="aspect-video w-28 shrink-0 rounded-xl border-2 border-bad bg-sunken object-cover"
    />
  );
}
