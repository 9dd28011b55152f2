// Panel 4, training: two layers of attention learn while one watches. This module owns how far training has come and
// how fast it goes; the weights are the engine's. It knows all modules before it but those of other panels.

// A letter of the text, and what stands for none.
const letter = (n) => n < 0 ? '·' : String.fromCharCode(97 + n);

const training = {
    ...PANEL, id: 'training', step: 0, isRunning: false, until: 0, pace: 5, losses: [[], []],

    start() {
        this.last = engine.exports.page_train_steps();
        when('click', 'training-run', () => this.isRunning ? this.stop() : this.run(this.last));
        when('click', 'training-step', () => {
            this.stop();
            this.advance(1);
            this.changed();
        });
        when('click', 'training-restart', () => {
            this.stop();
            this.restart();
            this.changed();
        });
        when('change', 'training-speed', (pace) => this.update({ pace: Number(pace) }));
        tell('training-sum', POINT_AT_A_WEIGHT, false);
        this.restart();
    },

    restart() {
        notice('');
        engine.trainBegin();
        this.step = 0;
        this.losses = [[], []];
    },

    advance(count) {
        for (let n = 0; n < count && this.step < this.last; n++) {
            this.step = engine.trainStep(n === count - 1 || this.step === this.last - 1);
            this.losses.forEach((line, known) => line.push(engine.exports.page_train_loss(known)));
        }
    },

    run(until) {
        this.until = until;
        if (this.isRunning) return;
        if (this.step >= this.last) this.restart();
        this.isRunning = true;
        const tick = () => {
            if (!this.isRunning) return;
            this.advance(Math.min(this.pace, this.until - this.step));
            if (this.step >= this.until) this.stop();
            if (shown === this) this.render();
            if (this.isRunning) this.frame = requestAnimationFrame(tick);
        };
        this.frame = requestAnimationFrame(tick);
        this.render();
    },

    stop() {
        cancelAnimationFrame(this.frame);
        this.isRunning = false;
        this.changed();
    },

    render() {
        const { letters, next, guesses, heads } = engine.trained();
        $('training-run').textContent = this.runName();
        $('training-speed').value = String(this.pace);
        $('training-step').disabled = this.step >= this.last;
        $('training-status').setAttribute('aria-live', this.isRunning ? 'off' : 'polite');
        $('training-status').textContent = this.status(next, guesses);
        this.showChart(themeNow());
        this.renderLetters(letters, next, guesses);
        this.renderHeads(letters, heads);
    },

    // What the button that runs does next.
    runName() {
        if (this.isRunning) return 'Pause';
        if (this.step >= this.last) return 'Once more';
        return this.step ? 'Go on' : 'Start';
    },

    status(next, guesses) {
        const right = guesses.filter((g, i) => g >= 0 && g === next[i]).length;
        const asked = guesses.filter((g) => g >= 0).length;
        const [fresh, repeated] = this.lastLosses('');
        const loss = this.step ? `Loss of new letters ${fresh}, of repeated ones ${repeated}. ` : '';
        return `Step ${this.step} of ${this.last}. ${loss}${right} of ${asked} guesses are right.`;
    },

    // The loss of new letters and that of repeated ones, or else `none`.
    lastLosses(none) { return this.losses.map((line) => line.length ? line[line.length - 1].toFixed(2) : none); },

    chart(theme, width) {
        return svgLines({
            width,
            title: 'Loss',
            names: ['new letters', 'repeated letters'],
            lines: this.losses,
            xHigh: this.last,
            yHigh: Math.max(4, ...this.losses.flat()),
            xName: 'step',
        }, theme);
    },

    showChart(theme) {
        const [fresh, repeated] = this.lastLosses('none yet');
        const label = `Loss over the steps: new letters ${fresh}, repeated letters ${repeated}`;
        const width = clamp($('training-chart').clientWidth - 185, 160, 560);
        $('training-chart').innerHTML = svgElement(this.chart(theme, width), label);
    },

    renderLetters(letters, next, guesses) {
        const row = (title, numbers, mark = () => '') => {
            const cells = numbers.map((n, i) => `<td class="${mark(n, i)}">${letter(n)}</td>`).join('');
            return `<tr><th scope="row">${title}</th>${cells}</tr>`;
        };
        const mark = (n, i) => n < 0 ? '' : n === next[i] ? 'good' : 'bad';
        $('training-letters').innerHTML = row('text', letters) + row('next', next) + row('guess', guesses, mark);
    },

    map({ block, head, weights }, letters) {
        const labels = letters.map(letter);
        const isLater = (n) => n % weights.cols > Math.floor(n / weights.cols);
        return {
            ...weights,
            title: headName(block, head),
            low: 0,
            high: 1,
            side: 13,
            rowLabels: labels,
            colLabels: labels,
            hidden: Uint8Array.from(weights.values, (_, n) => isLater(n) ? 1 : 0),
        };
    },

    renderHeads(letters, heads) {
        const holder = $('training-heads');
        const figure = '<figure><div class="scroll"></div><figcaption></figcaption></figure>';
        if (!holder.children.length) holder.innerHTML = heads.map(() => figure).join('');
        heads.forEach((h, n) => {
            const [picture, caption] = holder.children[n].children, map = this.map(h, letters);
            const before = h.before.toFixed(2), followed = h.followed.toFixed(2);
            const shares = `of its attention ${before} goes to the letter before, ${followed} to the one that followed`;
            const label = `${map.title}: ${shares}`;
            showPicture(picture, map, label, (r, c) => tell('training-sum', this.explain(map, r, c)));
            caption.innerHTML = `<small>${shares}</small>`;
        });
    },

    explain(map, r, c) {
        const row = `letter ${r + 1}, “${map.rowLabels[r]}”,`, column = `letter ${c + 1}, “${map.colLabels[c]}”,`;
        if (c > r) return `${map.title}: ${row} does not see ${column} which comes later.`;
        const weight = short(entry(map, r, c), 3);
        return `${map.title}: ${row} gives ${column} ${weight} of its attention.`;
    },

    picture(theme) {
        const { letters, heads } = engine.trained();
        const maps = heads.map((h) => svgHeatmap(this.map(h, letters), theme));
        return svgDocument(`Training, step ${this.step}`, [this.chart(theme, 560), ...maps], theme, 760);
    },

    write(link) {
        link.set('at', this.step);
        link.set('pace', this.pace);
    },

    // A link leads to a step: training goes there.
    read(link) {
        const at = choiceOfNumber(link, 'at', 0, this.last);
        this.pace = Number(choice(link, 'pace', ['1', '5', '25'], this.pace));
        if (at === undefined) return;
        if (this.isRunning) this.stop();
        if (at < this.step) this.restart();
        if (at > this.step) this.run(at);
    },
};
panels.push(training);
