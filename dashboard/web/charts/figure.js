// A figure made by the server, the same picture as in the journal entry, shown as an image. When
// reads need a token the image is fetched with it, since an <img> sends none.
import { getText, token } from '../api.js';
import { h } from '../dom.js';

function picture(base, alt) {
  if (!token()) {
    return h('img', { src: base, alt, width: 760, loading: 'lazy' });
  }
  const image = h('img', { alt });
  getText(base)
    .then((text) => {
      const url = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));
      image.addEventListener('load', () => URL.revokeObjectURL(url), { once: true });
      image.src = url;
    })
    .catch(() => {
      image.alt = `${alt} (not available)`;
    });
  return image;
}

// `what` is read aloud; the figure itself carries its title.
export function figure(id, name, what) {
  const base = `/x/${encodeURIComponent(id)}/figure/${name}.svg`;
  return h(
    'figure',
    { class: 'figure' },
    h('a', { href: base, title: 'Open the figure alone' }, picture(base, what)),
  );
}
