// Fetches the chart library when a chart is looked at first; other pages never pay for it.
import { h } from '../dom.js';

let loading = null;

export function library() {
  loading ??= new Promise((resolve, reject) => {
    document.head.append(h('link', { rel: 'stylesheet', href: '/assets/vendor/uPlot.min.css' }));
    const script = h('script', { src: '/assets/vendor/uPlot.iife.min.js' });
    script.addEventListener('load', () => resolve(window.uPlot));
    script.addEventListener('error', () => reject(new Error('the chart could not be loaded')));
    document.head.append(script);
  });
  return loading;
}

export const colour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A chart in `box` that follows its width and the colour scheme.
export function place(box, height, make) {
  library()
    .then((UPlot) => {
      if (!box.isConnected) return;
      const chart = make(UPlot);
      new ResizeObserver(() => {
        if (box.isConnected && box.clientWidth) chart.setSize({ width: box.clientWidth, height });
      }).observe(box);
      matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => chart.redraw());
      box.dataset.drawn = 'yes';
    })
    .catch((error) => box.replaceChildren(error.message));
  return box;
}
