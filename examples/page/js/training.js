// Panel 4, training: two layers of attention learn while one watches. This module owns how far training has come, how
// fast it goes, and the pictures of all that was; the weights are the engine's. It knows all modules before it but
// those of other panels.

const ONE_BY_ONE = 250; // so many steps have a picture each
const WORK = 30; // milliseconds between two frames, on the way to where a link leads

// A letter of the text, and what stands for none.
const letter = (n) => n < 0 ? '·' : String.fromCharCode(97 + n);

const training = {
    ...PANEL, id: 'training', isRunning: false, pace: 5, losses: [[], []], pictures: [], at: 0, looked: null,

    start() {
        this.last = engine.exports.page_train_steps();
        when('click', 'training-run', () => {
            if (this.isRunning) return this.stop();
            if (this.step >= this.last) this.restart();
            return this.run(this.last);
        });
        when('click', 'training-step', () => {
            this.stop();
            this.advance(this.step + 1);
            this.changed();
        });
        when('click', 'training-restart', () => {
            this.restart();
            this.stop();
        });
        when('change', 'training-speed', (pace) => this.update({ pace: Number(pace) }));
        when('input', 'training-look', (at) => {
            this.at = Number(at);
            this.stop();
        });
        this.restart();
        this.seen.heads.forEach((_, n) => {
            const figure = document.createElement('figure'), canvas = document.createElement('canvas');
            figure.append(canvas, document.createElement('figcaption'));
            $('training-heads').append(figure);
            pointable(canvas, () => this.map(n), (r, c) => {
                this.looked = [n, r, c];
                this.renderHeads();
            });
        });
        this.renderHeads();
    },

    // The picture that is shown, and how far training has come, which may be further.
    get seen() { return this.pictures[this.at]; },
    get step() { return this.pictures[this.pictures.length - 1].step; },

    restart() {
        notice('');
        engine.trainBegin();
        this.losses = [[], []];
        this.pictures = [];
        this.keep(0);
    },

    // What training has come to becomes a picture, which is shown.
    keep(step) { this.at = this.pictures.push({ step, ...engine.trained() }) - 1; },

    // Goes on to the next picture, no further than to step `until`.
    advance(until) {
        const { step } = this, to = Math.min(step < ONE_BY_ONE ? step + 1 : step + this.pace, until);
        for (let n = step + 1; n <= to; n++) {
            engine.trainStep(n === to);
            this.losses.forEach((line, known) => line.push(engine.exports.page_train_loss(known)));
        }
        this.keep(to);
    },

    // Goes on to a step: in each frame so many milliseconds, but a picture at least. In the end the picture of step
    // `look` is shown.
    run(until, work = 0, look = until) {
        const tick = () => {
            const end = performance.now() + work;
            while (this.step < until) {
                this.advance(until);
                if (performance.now() >= end) break;
            }
            if (this.step < until) {
                this.frame = requestAnimationFrame(tick);
                if (shown === this) this.render();
            } else {
                this.at = this.pictures.filter(({ step }) => step <= look).length - 1;
                this.stop();
            }
        };
        this.isRunning = true;
        this.frame = requestAnimationFrame(tick);
    },

    stop() {
        cancelAnimationFrame(this.frame);
        this.isRunning = false;
        this.changed();
    },

    render() {
        $('training-run').textContent = this.runName();
        $('training-speed').value = String(this.pace);
        disable('training-step', this.step >= this.last, 'training-run');
        $('training-look').max = this.pictures.length - 1;
        $('training-look').value = this.at;
        $('training-look').setAttribute('aria-valuetext', `step ${this.seen.step}`);
        $('training-status').setAttribute('aria-live', this.isRunning ? 'off' : 'polite');
        $('training-status').textContent = this.status();
        $('training-chart').innerHTML = engine.lines({ ...this.chart(), names: [' ', ' '] });
        $('training-legend').innerHTML = legendHtml(WEIGHTS, true);
        this.renderLetters();
        this.renderHeads();
    },

    // What the button that runs does next.
    runName() {
        if (this.isRunning) return 'Pause';
        if (this.step >= this.last) return 'Once more';
        return this.step ? 'Go on' : 'Start';
    },

    status() {
        const { step, next, guesses } = this.seen;
        const right = guesses.filter((g, i) => g >= 0 && g === next[i]).length;
        const asked = guesses.filter((g) => g >= 0).length;
        const [fresh, repeated] = this.losses.map((line) => step ? line[step - 1].toFixed(2) : '');
        const loss = step ? `Loss of new letters ${fresh}, of repeated ones ${repeated}. ` : '';
        return `Step ${step} of ${this.last}. ${loss}${right} of ${asked} guesses are right${step ? '' : ', by chance'}.`;
    },

    // The losses up to the picture that is shown; before the first step, axes alone.
    chart() {
        const { step } = this.seen;
        return { title: 'Loss', xName: 'step', yName: '−log of the chance',
            names: ['new letters', 'repeated letters'], xLow: Math.min(step, 1), xHigh: Math.max(step, 2),
            lines: this.losses.map((line) => step ? line.slice(0, step) : [0]) };
    },

    renderLetters() {
        const { letters, next, guesses } = this.seen;
        const row = (title, numbers, mark = () => '') => {
            const cells = numbers.map((n, i) => `<td class="${mark(n, i)}">${letter(n)}</td>`).join('');
            return `<tr><th scope="row">${title}</th>${cells}</tr>`;
        };
        const mark = (n, i) => n < 0 ? '' : n === next[i] ? 'good' : 'bad';
        $('training-letters').innerHTML = row('text', letters) + row('next', next) + row('guess', guesses, mark);
    },

    // The weights of a head. Framed is what example 10 takes the shares of.
    map(n) {
        const { letters, heads } = this.seen, { block, head, values, rows, cols } = heads[n];
        const labels = letters.map(letter);
        return { name: headName(block, head), rows, cols, values, scale: WEIGHTS, rowLabels: labels, colLabels: labels,
            frame: 'where a head comes to look', rowName: 'letter that looks', colName: 'letter that is looked at',
            side: 16,
            hidden: values.map((_, i) => isLater(i, cols)),
            framed: (r, c) => block ? c > 0 && c <= r && letters[c - 1] === letters[r] : c === r - 1 };
    },

    // Pixels of a cell, as many as it has on the screen.
    sideOf: (canvas, cols) => Math.max(5, Math.round(canvas.clientWidth * devicePixelRatio / cols)),

    renderHeads() {
        const [looked, ...at] = this.looked || [];
        this.seen.heads.forEach((h, n) => {
            const [canvas, caption] = $('training-heads').children[n].children, map = this.map(n);
            drawMap(canvas, map, this.sideOf(canvas, map.cols), n === looked ? at : null);
            caption.textContent = `${map.name}, in 16 texts: ${h.before.toFixed(2)} goes to the letter before, ` +
                `${h.followed.toFixed(2)} to what followed`;
            canvas.setAttribute('aria-label', `${caption.textContent}. Arrow keys go from weight to weight.`);
        });
        const said = this.looked ? this.explain(this.map(looked), ...at) : POINT_AT_A_WEIGHT;
        tell('training-sum', said, Boolean(this.looked));
    },

    explain(map, r, c) {
        const row = `letter ${r + 1}, “${map.rowLabels[r]}”,`, column = `letter ${c + 1}, “${map.colLabels[c]}”,`;
        if (c > r) return `${map.name}: ${row} does not see ${column} which comes later.`;
        const weight = shareOf(entry(map, r, c)), should = map.framed(r, c) ? ' Here a head comes to look.' : '';
        return `${map.name}: ${row} takes ${weight} from ${column.slice(0, -1)}.${should}`;
    },

    picture() {
        const title = `Training, step ${this.seen.step}`;
        const heads = engine.picture('Weights of the four heads', this.seen.heads.map((_, n) => this.map(n)), 2);
        return stackedSvg(title, [engine.lines(this.chart()), heads]);
    },

    write(link) {
        link.set('at', this.step);
        link.set('pace', this.pace);
        if (this.seen.step < this.step) link.set('look', this.seen.step);
    },

    // A link leads to a step: training goes there, or back to its picture.
    read(link) {
        const at = choiceOfNumber(link, 'at', 0, this.last);
        this.pace = Number(choice(link, 'pace', ['1', '5', '25'], this.pace));
        if (at === undefined) return;
        cancelAnimationFrame(this.frame);
        this.run(at, WORK, choiceOfNumber(link, 'look', 0, at, at));
    },
};
panels.push(training);
